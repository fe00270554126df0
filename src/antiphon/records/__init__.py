"""Record files: the rows of a run as columns on disk, and back. Loads pyarrow only when used."""
