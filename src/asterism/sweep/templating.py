"""The templates of the sweeps' pages, with the filters of the report's templates."""

from asterism.report.base.templating import renderer

#: Fills in a template of ``sweep/templates``.
render = renderer("asterism.sweep")
