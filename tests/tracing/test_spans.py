"""Spans and metrics of whole sessions on the scripted model, with the SDK's exporters in memory."""

from collections.abc import Iterator
from typing import Any

import pytest

from callgate import Answer, Session
from callgate.testing import ScriptedModel, call, fail, say, turn
from callgate.testing.script import stop
from callgate.words.errors import ModelError
from callgate.words.messages import Usage

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from callgate.tracing.spans import CONTENT_VARIABLE, trace


class Collector:
    def __init__(self) -> None:
        self._spans, self._metrics = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers, self.meters = TracerProvider(), MeterProvider((self._metrics,))
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))

    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._spans.get_finished_spans()}

    def metrics(self) -> dict[str, list[Any]]:
        data = self._metrics.get_metrics_data()
        assert data is not None
        every = [
            metric for resource in data.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics
        ]
        return {metric.name: list(metric.data.data_points) for metric in every}


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()


def echo(text: str) -> str:
    """Say it again."""
    return text


async def traced(collector: Collector, model: ScriptedModel, **options: Any) -> dict[str, ReadableSpan]:
    async with Session(model, [echo]) as session:
        ending = trace(session, tracer_provider=collector.tracers, meter_provider=collector.meters, **options)
        await session.run("hi")
        for question in session.questions:
            await session.send(Answer(question.yes()))
        ending()
    return collector.spans()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


MODEL = "anthropic/claude-x"
USED = Usage(input=10, cache_read=100, cache_write=5, output=7, reasoning=3)


@pytest.mark.spec("TRN-7")
async def test_a_run_has_a_span_for_itself_each_request_and_each_call(collector: Collector) -> None:
    model = ScriptedModel(
        turn(say("Look."), call("echo", text="secret word"), stop("tool_calls", USED)),
        turn(say("Done."), stop("end", USED)),
        name=MODEL,
    )
    spans = await traced(collector, model)
    run, chat, tool = spans["invoke_agent callgate"], spans["chat claude-x"], spans["execute_tool echo"]
    assert run.context is not None
    for child in (chat, tool):
        assert child.parent is not None
        assert child.parent.span_id == run.context.span_id
    assert attributes(chat) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "claude-x",
        "gen_ai.response.model": "claude-x",
        "gen_ai.response.finish_reasons": ("end",),
        "gen_ai.response.time_to_first_chunk": attributes(chat)["gen_ai.response.time_to_first_chunk"],
        "gen_ai.usage.input_tokens": 115,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 100,
        "gen_ai.usage.cache_creation.input_tokens": 5,
        "gen_ai.usage.reasoning.output_tokens": 3,
    }
    assert attributes(tool)["callgate.result.code"] == "ok"
    assert [event.name for event in tool.events] == ["decided", "question", "answer", "decided", "started"]
    assert attributes(run)["callgate.run.reason"] == "done"
    assert "secret word" not in str([attributes(span) for span in spans.values()])
    points = {
        dict(point.attributes)["gen_ai.token.type"]: point.sum
        for point in collector.metrics()["gen_ai.client.token.usage"]
    }
    assert points == {"input": 230, "output": 14}
    operations = {
        dict(point.attributes)["gen_ai.operation.name"]
        for point in collector.metrics()["gen_ai.client.operation.duration"]
    }
    assert operations == {"chat", "execute_tool"}


@pytest.mark.spec("TRN-7")
async def test_content_is_there_only_when_it_was_asked_for(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CONTENT_VARIABLE, "true")
    model = ScriptedModel(turn(call("echo", text="a word")), turn(say("Done.")))
    tool = (await traced(collector, model))["execute_tool echo"]
    assert attributes(tool)["gen_ai.tool.call.arguments"] == '{"text": "a word"}'
    assert "a word" in attributes(tool)["gen_ai.tool.call.result"]


async def test_failures_are_errors_with_their_kind(collector: Collector) -> None:
    model = ScriptedModel(turn(fail(ModelError("no such model", kind="unknown_model"))))
    spans = await traced(collector, model)
    run, chat = spans["invoke_agent callgate"], spans["chat"]
    assert (attributes(run)["error.type"], run.status.is_ok) == ("unknown_model", False)
    assert (attributes(chat)["error.type"], chat.status.is_ok) == ("model_error", False)


async def test_a_call_that_fails_and_one_that_is_open_at_the_end(collector: Collector) -> None:
    model = ScriptedModel(turn(call("nothing"), call("echo", text="x")))
    async with Session(model, [echo]) as session:
        ending = trace(session, tracer_provider=collector.tracers, meter_provider=collector.meters)
        await session.run("hi")
        assert "execute_tool echo" not in collector.spans()
        ending()
        ending()
    spans = collector.spans()
    assert attributes(spans["execute_tool nothing"])["error.type"] == "unknown_tool"
    assert "callgate.result.code" not in attributes(spans["execute_tool echo"])
