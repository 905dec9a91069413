"""Attachments in the input line, shown by their labels."""

from __future__ import annotations

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from callgate.tui.composer.attachments import Attachments


class AttachmentLabels(Processor):
    """Shows each mark as its label, as wide as it is. The cursor stands before or behind it."""

    def __init__(self, attachments: Attachments) -> None:
        self._attachments = attachments

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        fragments = transformation_input.fragments
        line = fragment_list_to_text(fragments)
        if not self._attachments.within(line):
            return Transformation(fragments)
        shown: StyleAndTextTuples = []
        starts: list[int] = []
        length = 0
        for style, text, *_handler in fragments:
            for sign in text:
                starts.append(length)
                found = self._attachments.at(sign)
                piece = sign if found is None else found.label
                shown.append((style if found is None else f"{style} ansicyan", piece))
                length += len(piece)
        starts.append(length)

        def shown_at(place: int) -> int:
            return starts[place] if place < len(starts) else length + place - len(starts) + 1

        def source_at(place: int) -> int:
            return max((at for at, start in enumerate(starts) if start <= place), default=0)

        return Transformation(shown, source_to_display=shown_at, display_to_source=source_at)
