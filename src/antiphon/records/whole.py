"""A run that is over as one segment, in memory."""

from collections.abc import Sequence
from io import BytesIO

import msgspec

from antiphon.core.trace import Record
from antiphon.records.arrow import load
from antiphon.records.schema import HEADING, arrow_schema, rows_to_batch
from antiphon.records.segment import Heading


def whole_segment(rows: Sequence[Record], heading: Heading) -> bytes:
    """The content of its file."""
    ipc = load().ipc
    schema = arrow_schema().with_metadata({HEADING: msgspec.json.encode(heading)})
    file = BytesIO()
    with ipc.new_file(file, schema, options=ipc.IpcWriteOptions(compression="zstd")) as columns:
        columns.write_batch(rows_to_batch(rows, heading))
    return file.getvalue()
