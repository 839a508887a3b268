"""What language models are asked: one text per task and language, each replaceable, its placeholders checked."""

from memreader.prompts.languages import language_name as language_name
from memreader.prompts.library import LANGUAGES as LANGUAGES
from memreader.prompts.library import TASKS as TASKS
from memreader.prompts.library import Prompts as Prompts
from memreader.prompts.library import PromptTexts as PromptTexts
