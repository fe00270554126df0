"""Ingest as a stream: record files are taken into tables while daemons write them
(docs/guide/pipeline.md)."""
