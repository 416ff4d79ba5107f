"""Prints what the events of assets carry, in their order."""

import json


def main() -> None:
    from airflow.models.asset import AssetEvent
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        events = session.scalars(select(AssetEvent.extra).order_by(AssetEvent.id)).all()
    print("\n" + json.dumps(events))


if __name__ == "__main__":
    main()
