"""The names of attributes, spans and metrics, as the conventions for generative AI have them (November 2026).

The constants of OpenTelemetry's own package for them are private and change with every release.
"""

OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
FIRST_CHUNK = "gen_ai.response.time_to_first_chunk"
CONVERSATION = "gen_ai.conversation.id"
AGENT = "gen_ai.agent.name"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL = "gen_ai.tool.call.id"
ARGUMENTS = "gen_ai.tool.call.arguments"
RESULT = "gen_ai.tool.call.result"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHE_READ = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE = "gen_ai.usage.cache_creation.input_tokens"
REASONING = "gen_ai.usage.reasoning.output_tokens"
TOKEN_TYPE = "gen_ai.token.type"
ERROR = "error.type"

DECIDED_BY = "callgate.decision.by"
DECISION = "callgate.decision"
CODE = "callgate.result.code"
ENDED = "callgate.run.reason"

CHAT, EXECUTE_TOOL, INVOKE_AGENT = "chat", "execute_tool", "invoke_agent"

TOKEN_USAGE = "gen_ai.client.token.usage"
DURATION = "gen_ai.client.operation.duration"
TIME_TO_FIRST_CHUNK = "gen_ai.client.operation.time_to_first_chunk"

PROVIDERS = {"gemini": "gcp.gemini", "openai-chat": "openai"}
"""Families of APIs that the conventions know by another name."""
