"""Lines of a pipe while the loop goes on."""

import asyncio
import os

from antiphon.tools.typed_lines import PipeReader, TypedLines


def test_whole_lines_come_as_they_are_written() -> None:
    async def story() -> None:
        out, into = os.pipe()
        lines = TypedLines(PipeReader(out).read)
        os.write(into, b"one\ntwo\r\nthr")
        assert await lines.next() == ["one", "two"]
        waiting = asyncio.create_task(lines.next())
        await asyncio.sleep(0)
        assert not waiting.done()
        os.write(into, b"ee\n\nend")
        assert await waiting == ["three", ""]
        os.close(into)
        assert await lines.next() == ["end"]
        assert await lines.next() is None
        assert await lines.next() is None
        os.close(out)

    asyncio.run(story())


def test_bytes_that_are_no_text_come_through() -> None:
    out, into = os.pipe()
    os.write(into, b"\xff\n")
    os.close(into)
    (line,) = PipeReader(out).read() or []
    assert line.encode(errors="surrogateescape") == b"\xff"
    os.close(out)


def test_a_broken_input_is_the_end() -> None:
    def broken() -> list[str]:
        raise OSError

    async def story() -> None:
        assert await TypedLines(broken).next() is None

    asyncio.run(story())
