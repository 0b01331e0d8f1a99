# The app, the HTTP server and every command, for a user without rights: docs/container.md.
FROM python:3.12-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
# What is locked first: it changes less often than the code, and stays in the cache.
COPY requirements.lock ./
RUN python -m venv /everfleet \
    && /everfleet/bin/pip install --require-hashes --requirement requirements.lock
COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE everfleet.py app.py ./
COPY .streamlit .streamlit
COPY carbon carbon
COPY reliability reliability
COPY solver solver
COPY planner planner
COPY data data
RUN /everfleet/bin/pip install --no-deps --no-build-isolation .

FROM python:3.12-slim
RUN useradd --uid 10001 --create-home --home-dir /var/lib/everfleet --shell /usr/sbin/nologin everfleet
COPY --from=build /everfleet /everfleet
ENV PATH=/everfleet/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /var/lib/everfleet
# Saved plans, where no database is named by EVERFLEET_STORE.
VOLUME /var/lib/everfleet
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as ask; ask.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
ENTRYPOINT ["everfleet"]
CMD ["app", "--host", "0.0.0.0", "--port", "8501"]
