# One image for the bot and the workers; docker-compose.yml says which command each runs.
FROM python:3.11.14-slim-bookworm

ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    EVERTURN_HOME=/data

RUN useradd --create-home --uid 10001 everturn \
    && install --directory --owner everturn --group everturn /data

WORKDIR /app

# The dependencies change seldom, the sources often: a layer of its own for each.
COPY requirements.lock ./
RUN pip install --requirement requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY activities ./activities
COPY bot ./bot
COPY playground ./playground
COPY runtime ./runtime
COPY storage ./storage
COPY text ./text
COPY worker ./worker
COPY workflows ./workflows
RUN pip install --no-deps --no-build-isolation . \
    && python -m compileall -q "$(python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')"

# An empty folder: what is imported is what was installed, and .env comes from the environment.
WORKDIR /home/everturn
USER everturn
VOLUME /data

STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["everturn", "doctor", "--alive", "worker"]

ENTRYPOINT ["everturn"]
CMD ["worker"]
