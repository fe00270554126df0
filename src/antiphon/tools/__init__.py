"""The hands of Antiphon: the command line, monitors, replay."""
