# PostgreSQL 17 with Apache AGE and pgvector, from Debian's packages.
FROM docker.io/library/debian:trixie-slim

# The package would make a cluster of its own, in the image.
RUN mkdir -p /etc/postgresql-common \
 && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf \
 && apt-get update \
 && apt-get install -y --no-install-recommends postgresql-17 postgresql-17-age postgresql-17-pgvector \
 && rm -rf /var/lib/apt/lists/* \
 && install -d -o postgres -g postgres -m 700 /var/lib/lightmem

COPY deploy/images/postgres-entrypoint.sh /usr/local/bin/postgres-entrypoint

USER postgres
VOLUME /var/lib/lightmem
EXPOSE 5432
STOPSIGNAL SIGINT
ENTRYPOINT ["/usr/local/bin/postgres-entrypoint"]
