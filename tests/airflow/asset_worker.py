"""Prints what the events of assets carry, in their order; with the argument ``states``, what is
stored of assets."""

import json
import sys


def main() -> None:
    from airflow.models.asset import AssetEvent
    from airflow.models.asset_state_store import AssetStateStoreModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        if sys.argv[1:] == ["states"]:
            shown = [
                json.loads(value) for value in session.scalars(select(AssetStateStoreModel.value))
            ]
        else:
            shown = list(session.scalars(select(AssetEvent.extra).order_by(AssetEvent.id)))
    print("\n" + json.dumps(shown))


if __name__ == "__main__":
    main()
