"""The routes of the chat: conversations, turns, ratings, topics, bots, and the dialogues that replies come from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path
from fastapi.concurrency import run_in_threadpool

from tertulia import __version__
from tertulia.bot.preprocess import clean
from tertulia.errors import InputError
from tertulia.web import models
from tertulia.web.problems import documented

if TYPE_CHECKING:
    from tertulia.bot.pipeline import Bot
    from tertulia.bot.service import Conversations
    from tertulia.web.speaking import Speaking

__all__ = ["chat_router"]

ConversationId = Annotated[
    models.Name, Path(description="The name of a conversation, as it was given when it started.")
]
# The largest number that every database takes.
TurnNumber = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number of the turn, from 1.")]


def chat_router(conversations: Conversations, speaking: Speaking) -> APIRouter:
    """The routes under ``/api`` that talk with these conversations."""
    router = APIRouter(prefix="/api")

    @router.post(
        "/chat",
        tags=["talk"],
        summary="Say something",
        response_model=models.Reply,
        responses=documented(400, 404, 409, 413, 415, 422, 503),
    )
    async def chat(request: models.ChatRequest) -> dict[str, Any]:
        """Say something to the agent and get its reply, with all that was considered.

        Without a conversation a new one is started; its name is in the answer.
        """
        conversation = request.conversation
        clean(request.text)  # A message that is refused starts no conversation.
        if conversation is None:
            conversation = await run_in_threadpool(conversations.start, request.bot)
        elif request.bot is not None:
            raise InputError("names a conversation and a bot; expected one of them, a conversation has its bot")
        turn = await speaking.say(conversation, request.text, after=request.after)
        return {"conversation": conversation, **turn.to_json()}

    @router.post(
        "/conversations",
        status_code=201,
        tags=["talk"],
        summary="Start a conversation",
        response_model=models.Started,
        responses=documented(400, 404, 413, 415, 422, 503),
    )
    def start(request: models.StartRequest) -> dict[str, Any]:
        """Start a conversation, and get its name: 128 random bits, the only key to it."""
        conversation = conversations.start(request.bot)
        return {"conversation": conversation, "bot": request.bot or next(iter(conversations.bots))}

    @router.get(
        "/conversations/{conversation}",
        tags=["talk"],
        summary="Read a conversation",
        response_model=models.Conversation,
        responses=documented(404, 422, 503),
    )
    def history(conversation: ConversationId) -> dict[str, Any]:
        """The conversation so far, with the ratings of its replies."""
        return conversations.history(conversation)

    @router.get(
        "/conversations/{conversation}/turns/{number}",
        tags=["explain"],
        summary="Explain a turn",
        response_model=models.TracedTurn,
        responses=documented(404, 422, 503),
    )
    def turn(conversation: ConversationId, number: TurnNumber) -> dict[str, Any]:
        """One exchange with its trace: each component in order, what it proposed, and what became of it."""
        return conversations.turn(conversation, number)

    @router.put(
        "/conversations/{conversation}/turns/{number}/rating",
        tags=["rate"],
        summary="Rate a reply",
        response_model=models.Rating,
        responses=documented(400, 404, 413, 415, 422, 503),
    )
    def rate(conversation: ConversationId, number: TurnNumber, request: models.RatingRequest) -> dict[str, Any]:
        """Give a thumb, a grade, or both; the answer is the rating as it is now."""
        if request.thumb is None and request.grade is None:
            raise InputError("has neither a thumb nor a grade; expected at least one of them", where="the rating")
        return conversations.rate(conversation, number, thumb=request.thumb, grade=request.grade)

    @router.put(
        "/conversations/{conversation}/topic",
        tags=["talk"],
        summary="Wish for a topic",
        response_model=models.Topic,
        responses=documented(400, 404, 413, 415, 422, 503),
    )
    def wish_topic(conversation: ConversationId, request: models.Topic) -> dict[str, Any]:
        """Turn the talk to one of the bot's topics; the answer is the topic that was meant."""
        return {"topic": conversations.wish_topic(conversation, request.topic)}

    @router.get("/bots", tags=["bots"], summary="List the bots", response_model=models.Bots)
    def bots() -> dict[str, Any]:
        """The agents of this server; the first is the default."""
        return {"bots": [_bot_json(bot) for bot in conversations.bots.values()]}

    @router.get(
        "/bots/{bot}/dialogues/{dialogue_id}",
        tags=["explain"],
        summary="Read a source dialogue",
        response_model=models.SourceDialogue,
        responses=documented(404, 422),
    )
    def dialogue(
        bot: Annotated[models.Name, Path(description="The name of a bot.")],
        dialogue_id: Annotated[
            models.Name, Path(description="The id of a dialogue of its bank, as the evidence of a reply.")
        ],
    ) -> dict[str, Any]:
        """A conversation of the bank from which a reply was taken."""
        return conversations.dialogue(bot, dialogue_id)

    @router.get("/health", tags=["bots"], summary="Ask whether the server is up", response_model=models.Health)
    def health() -> dict[str, Any]:
        """That the server is up, its version, and its bots."""
        return {"status": "ok", "version": __version__, "bots": list(conversations.bots)}

    return router


def _bot_json(bot: Bot) -> dict[str, Any]:
    config = bot.config
    return {
        "name": bot.name,
        "language": config.language,
        "greeting": config.greeting,
        "openers": config.openers,
        "topics": bot.topics,
        "counts": bot.manifest.counts,
    }
