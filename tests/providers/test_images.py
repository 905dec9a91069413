"""Images are made to fit a model before they are sent, and never make a session unusable."""

import sys
from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from PIL import Image as Pillow

from callgate.providers.family import ModelFacts
from callgate.providers.images import ImageFitter, size_of
from callgate.words.messages import CallPart, Content, Image, Message, Resource, ResultPart, Text
from callgate.words.model import Request
from tests.rows import rows

FACTS = ModelFacts(
    "small-eyes", "anthropic", image_pixels=64, image_bytes=10_000, images_at_most=4, images_bytes=30_000
)


def picture(width: int, height: int, form: str = "PNG", *, noise: bool = False, seed: int = 0) -> Image:
    if noise:
        made: Any = Pillow.effect_noise((width, height), 100)
    else:
        made = Pillow.new("RGB", (width, height), (seed % 256, 1, 2))
    buffer = BytesIO()
    made.save(buffer, form)
    return Image(f"image/{form.lower()}", buffer.getvalue())


def prompt(*parts: Text | Image | Resource) -> Message:
    return Message("u1", "user", parts)


def read_by_a_tool(path: str, image: Image, number: int = 1) -> tuple[Message, Message]:
    call = CallPart(f"c{number}", "Read", {"file_path": path})
    result = ResultPart(call.id, "Read", (Text("an image"), image))
    return Message(f"a{number}", "assistant", (call,)), Message(f"t{number}", "tool", (result,))


def contents(request: Request) -> list[Content]:
    found: list[Content] = []
    for message in request.messages:
        for part in message.parts:
            found += part.content if isinstance(part, ResultPart) else [part] if isinstance(part, Content) else []
    return found


@rows("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_the_size_of_an_image_is_read_from_its_first_bytes(form: str) -> None:
    data = picture(300, 200, form).data
    assert size_of(data) == (300, 200)
    for cut in range(30):
        assert size_of(data[:cut]) in (None, (300, 200))


def test_the_size_of_something_else_is_none() -> None:
    lossless = BytesIO()
    Pillow.new("RGBA", (7, 9)).save(lossless, "WEBP", lossless=True)
    assert size_of(lossless.getvalue()) == (7, 9)
    for data in (b"", b"hello", b"\xff\xd8\xff\xe0\x00", b"RIFF0000WEBPVP9 ", b"\xff\xd8\xff" * 100):
        assert size_of(data) is None


@pytest.mark.spec("PRV-10")
def test_an_image_within_the_limits_is_sent_as_it_is() -> None:
    request = Request("", (prompt(Text("look"), picture(64, 64)),))
    assert ImageFitter(FACTS).fit(request) == (request, [])
    plain = Request("", (prompt(Text("hello")),))
    assert ImageFitter(FACTS).fit(plain)[0] is plain


@pytest.mark.spec("PRV-10")
@rows("form", ["PNG", "JPEG", "WEBP"])
def test_an_image_that_is_too_large_is_scaled_and_that_is_said(form: str) -> None:
    request = Request("", read_by_a_tool("/work/shot.png", picture(300, 150, form)))
    fitted, notes = ImageFitter(FACTS).fit(request)
    (image,) = (each for each in contents(fitted) if isinstance(each, Image))
    assert size_of(image.data) == (64, 32)
    assert image.media_type == ("image/png" if form == "PNG" else "image/jpeg")
    (note,) = notes
    assert note.startswith("/work/shot.png (300×150 pixels, ")
    assert "was scaled, because small-eyes takes 64 pixels and 10,000 bytes" in note


@pytest.mark.spec("PRV-10")
def test_too_many_bytes_are_taken_off_by_quality_and_then_by_size() -> None:
    facts = replace(FACTS, image_pixels=600, image_bytes=25_000)
    fitted, _ = ImageFitter(facts).fit(Request("", (prompt(picture(600, 600, noise=True)),)))
    (image,) = contents(fitted)
    assert isinstance(image, Image)
    assert len(image.data) <= 25_000
    assert image.media_type == "image/jpeg"
    impossible, notes = ImageFitter(replace(FACTS, image_bytes=10)).fit(Request("", (prompt(picture(300, 300)),)))
    (line,) = contents(impossible)
    assert isinstance(line, Text)
    assert "cannot be made small enough" in line.text
    assert "cannot be made small enough" in notes[0]


@pytest.mark.spec("PRV-10")
def test_without_pillow_a_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request("", read_by_a_tool("shot.png", picture(300, 300)))
    monkeypatch.setitem(sys.modules, "PIL", None)
    fitted, notes = ImageFitter(FACTS).fit(request)
    _, line = contents(fitted)
    assert isinstance(line, Text)
    assert "shot.png (300×300 pixels" in line.text
    assert 'make it smaller, or install the package that scales it: pip install "callgate[images]"' in line.text
    assert len(notes) == 1


@pytest.mark.spec("PRV-10")
def test_an_image_that_cannot_be_read_is_a_line() -> None:
    broken = Image("image/png", picture(300, 300).data[:40])
    fitted, notes = ImageFitter(FACTS).fit(Request("", (prompt(broken),)))
    (line,) = contents(fitted)
    assert isinstance(line, Text)
    assert "cannot be scaled" in line.text
    assert len(notes) == 1


@pytest.mark.spec("PRV-10")
def test_of_too_many_images_the_oldest_become_lines() -> None:
    images = [picture(8, 8, seed=number) for number in range(6)]
    request = Request("", tuple(prompt(image) for image in images))
    fitted, notes = ImageFitter(FACTS).fit(request)
    assert [isinstance(each, Image) for each in contents(fitted)] == [False, False, True, True, True, True]
    assert notes == ["The oldest images are omitted: small-eyes accepts no more images."]
    at_once = replace(FACTS, images_at_most=8)
    nine, _ = ImageFitter(at_once).fit(Request("", tuple(prompt(picture(8, 8, seed=n)) for n in range(9))))
    assert sum(isinstance(each, Image) for each in contents(nine)) == 7, "a quarter of the limit goes at once"


@pytest.mark.spec("PRV-10")
def test_too_many_bytes_in_all_cost_the_oldest_too() -> None:
    facts = replace(FACTS, images_bytes=len(picture(8, 8).data) * 2 + 10)
    fitted, _ = ImageFitter(facts).fit(Request("", tuple(prompt(picture(8, 8, seed=n)) for n in range(3))))
    assert [isinstance(each, Image) for each in contents(fitted)] == [False, True, True]


@pytest.mark.spec("PRV-10")
def test_a_refused_image_is_named_and_not_sent_again() -> None:
    fitter = ImageFitter(FACTS)
    old = prompt(picture(8, 8, seed=1))
    fitter.fit(Request("", (old,)))
    fitter.mark_accepted()
    request = Request("", (old, *read_by_a_tool("/work/shot.png", picture(9, 9, seed=2))))
    fitter.fit(request)
    assert fitter.mark_refused() == ["/work/shot.png"]
    again, _ = fitter.fit(request)
    kept, _, line = contents(again)
    assert isinstance(kept, Image)
    assert isinstance(line, Text)
    assert line.text.startswith("[/work/shot.png is omitted: the server refused it.")


def test_a_resource_that_is_an_image_counts_as_one() -> None:
    large = picture(300, 300)
    given = Resource("file:///a.png", data=large.data, media_type="image/png")
    fitted, notes = ImageFitter(FACTS).fit(Request("", (prompt(given),)))
    (image,) = contents(fitted)
    assert isinstance(image, Image)
    assert notes[0].startswith("file:///a.png (300×300")
    other = Resource("file:///a.txt", data=b"x" * 50_000, media_type="text/plain")
    assert contents(ImageFitter(FACTS).fit(Request("", (prompt(other),)))[0]) == [other]


def test_an_image_is_scaled_once() -> None:
    fitter = ImageFitter(FACTS)
    request = Request("", (prompt(picture(300, 300)),))
    first, notes = fitter.fit(request)
    second, again = fitter.fit(request)
    assert first.messages == second.messages
    assert (len(notes), again) == (1, [])


def test_a_model_without_eyes_is_left_to_its_family() -> None:
    facts = replace(FACTS, abilities=replace(FACTS.abilities, images=False))
    request = Request("", (prompt(picture(300, 300)),))
    assert ImageFitter(facts).fit(request) == (request, [])
