"""Jobs on Spark over what runs have recorded (docs/guide/pipeline.md)."""
