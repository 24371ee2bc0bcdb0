"""The command of the operator's image."""

from specdec_operator.process.memory import load_asyncio_only

if __name__ == "__main__":
    load_asyncio_only()  # before what is imported next imports the client
    from specdec_operator.app.main import main

    main()
