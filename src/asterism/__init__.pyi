from asterism.api.judging import judge_tests as judge_tests
from asterism.api.libraries import compare_libraries as compare_libraries
from asterism.api.states import states as states
from asterism.api.vetting import Vetting as Vetting
from asterism.api.vetting import vet as vet
from asterism.core.messages.errors import UserError as UserError

__version__: str
