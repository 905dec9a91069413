"""``callgate session show``: what was said and done, for a terminal."""

from argparse import Namespace
from collections.abc import Iterator
from json import dumps

from callgate.archive import Archive, CallStory, Mark, Said, Shown, moment, pretty_json, read_page
from callgate.archive import Exported as Exported
from callgate.cli.session.output import columns, counted, out, put, put_json, say
from callgate.cli.terminal import Line, Signs, Span, clip, safe, signs_for
from callgate.words.calls import Status
from callgate.words.jsonable import to_json
from callgate.words.messages import CallPart, Content, Image, Opaque, Part, Resource, ResultPart, Text, Thinking

_LINES = 20  # of a result or a thought
_WIDE = 400  # columns of one line of it


def show(options: Namespace) -> int:
    shown = Archive().show(options.which, options.tail)
    stream = out()
    if options.json:
        for warning in _warnings(shown):
            say(warning)
        for event in shown.events:
            put_json(to_json(event), stream)
        return 0
    view = _View(signs_for(stream), columns(stream))
    put(_header(shown, options.tail), stream)
    for entry in read_page(shown.events):
        put(view.entry(entry), stream)
    return 0
