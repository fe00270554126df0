"""Every promise, over tables of records of any size."""
