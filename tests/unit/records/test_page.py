"""docs/records.md lists the columns of a file as they are."""

import re
from pathlib import Path

from antiphon.core.trace import Record
from antiphon.records.schema import ORIGIN_COLUMNS, arrow_schema

PAGE = Path(__file__).parents[3] / "docs" / "records.md"


def test_the_page_lists_every_column_with_its_type() -> None:
    part = PAGE.read_text().partition("### Columns of a file")[2].partition("###")[0]
    listed = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", part, re.MULTILINE)
    assert listed == [(field.name, str(field.type)) for field in arrow_schema()]
    assert [name for name, _ in listed] == [*ORIGIN_COLUMNS, *Record.__struct_fields__]
