"""The words of Antiphon: ids, time, services, the machine contract, records, errors."""
