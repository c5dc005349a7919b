from asterism.api.vetting import Vetting as Vetting
from asterism.api.vetting import vet as vet
from asterism.core.messages.errors import UserError as UserError

__version__: str
