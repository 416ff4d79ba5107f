"""Settings of one environment: defaults, then ``reclock.toml`` in its home, then ``RECLOCK_…``
variables."""

from __future__ import annotations

from pathlib import Path
from tomllib import TOMLDecodeError

from pydantic import ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from reclock.config.clusters import ClusterSettings
from reclock.config.engines import EngineSettings
from reclock.config.ports import PortSettings
from reclock.config.stores import StoreSettings
from reclock.config.times import TimeSettings
from reclock.errors import ConfigurationError

_HINT = (
    "docs/settings.md has all settings; they come from reclock.toml in the home, and from "
    "RECLOCK_... variables"
)


class Settings(
    PortSettings, TimeSettings, ClusterSettings, EngineSettings, StoreSettings, BaseSettings
):
    """Every setting. Unknown names in ``reclock.toml`` are an error."""

    model_config = SettingsConfigDict(env_prefix="RECLOCK_", extra="forbid", frozen=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        home = (
            init_settings().get("home")
            or env_settings().get("home")
            or cls.model_fields["home"].default
        )
        toml = TomlConfigSettingsSource(settings_cls, toml_file=Path(home) / "reclock.toml")
        return init_settings, env_settings, toml

    @classmethod
    def load(cls, home: Path | str | None = None) -> Settings:
        """The settings of the environment at ``home`` (``RECLOCK_HOME`` or ``.reclock`` if none).
        Raises ``ConfigurationError``."""
        try:
            return cls(home=Path(home)) if home is not None else cls()
        except ValidationError as invalid:
            problems = [
                (
                    f"{'.'.join(map(str, e['loc']))}: "
                    f"{'there is no such setting' if e['type'] == 'extra_forbidden' else e['msg']}"
                )
                for e in invalid.errors(include_input=False)
            ]
            raise ConfigurationError(
                "invalid settings", detail="; ".join(problems), hint=_HINT
            ) from None
        except TOMLDecodeError as invalid:
            raise ConfigurationError(
                "reclock.toml is not TOML",
                detail=str(invalid),
                hint='text is written in quotes: log_level = "INFO"',
            ) from None
