"""The command `specdec`. `validate` is looked at first and alone: it must start in milliseconds, typer does not."""

import gc
import sys
from typing import Final

_INTERRUPTED: Final = 130


def main() -> None:
    """Run the command; the exit code is its result."""
    try:
        raise SystemExit(_run(sys.argv[1:]))
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    except BrokenPipeError:  # `specdec rules | head`
        sys.stderr.close()
        raise SystemExit(0) from None


def _run(argv: list[str]) -> int:
    if argv[:1] == ["validate"]:
        gc.disable()  # a process of a tenth of a second leaves nothing worth collecting
        from specdec_command.cli import validate  # noqa: PLC0415 - see above

        return validate.main(argv[1:])
    try:
        from specdec_command.cli.commands import application  # noqa: PLC0415

        app = application(argv[0] if argv else "")
    except ModuleNotFoundError as error:
        fix = "install the extra `cli`; in a checkout, run pip install '.[cli]'"
        sys.stderr.write(f"specdec: {error.name} is not installed: {fix}\n")
        return 1
    app()
    return 0


if __name__ == "__main__":
    main()
