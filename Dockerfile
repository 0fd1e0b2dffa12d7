# stompcap on Debian's Python and Java; docs/watch.md says how it is run. `--target executor` is Spark's executor on Kubernetes, of which
# docs/cluster.md tells. .ci/image builds and tries both.

FROM docker.io/library/debian:bookworm-slim AS system
ENV LANG=C.UTF-8 PATH=/opt/stompcap/bin:$PATH XDG_CACHE_HOME=/var/cache
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3 openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log /tmp/* \
    && useradd --system --create-home --uid 185 stompcap \
    && install -d -o stompcap -g stompcap /var/cache/stompcap /lake \
    && install -d /captures

# The packages, in the tested versions. They change seldom, so they have a layer of their own. pip itself is not among them.
FROM system AS packages
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv
RUN python3 -m venv /opt/pip && python3 -m venv --without-pip /opt/stompcap
WORKDIR /source
COPY pyproject.toml .ci/constraints.txt ./
RUN python3 -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' >requirements.txt \
    && /opt/pip/bin/pip --python /opt/stompcap/bin/python install --quiet --no-cache-dir \
        --constraint constraints.txt --requirement requirements.txt

# stompcap, with kernels that any processor of the level x86-64-v3 runs (on ARM any), so that no container compiles them.
FROM packages AS own
COPY stompcap stompcap/
RUN python3 -m stompcap.cli.prepare_command --into-environment
COPY README.md LICENSE ./
COPY pipelines pipelines/
COPY jobs jobs/
COPY airflow_dags airflow_dags/
RUN /opt/pip/bin/pip --python /opt/stompcap/bin/python install --quiet --no-cache-dir --no-deps --prefix /own . \
    && cp -a /opt/stompcap/share/stompcap/kernels-* /own/share/stompcap/

FROM system AS complete
COPY --from=packages /opt/stompcap /opt/stompcap
COPY --from=own /own /opt/stompcap
USER stompcap
WORKDIR /home/stompcap
# Delta's JARs, then the archive of the classes that Spark loads: what a first start would otherwise fetch and do without. Some builders
# give the machine a name without an address, on which Spark does not start.
RUN export SPARK_LOCAL_IP=127.0.0.1 \
    && python3 -c 'from stompcap.spark.session import get_session; get_session("local[1]").stop()' \
    && stompcap prepare \
    && rm -rf /var/cache/stompcap/delta-*/cache /home/stompcap/* /tmp/*

FROM complete AS executor
ENV SPARK_HOME=/opt/stompcap/lib/python3.11/site-packages/pyspark
ENTRYPOINT ["/opt/stompcap/share/stompcap/jobs/executor.sh"]

FROM complete
ENTRYPOINT ["stompcap"]
CMD ["watch", "/captures", "--lake", "/lake"]
