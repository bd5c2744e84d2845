# The image of agentenv-netlog: make image. The binary is the static one of make build.
ARG BASE=debian:trixie-slim
FROM ${BASE}

# tcpdump captures for a user who is not root; of its capabilities it has this one. A
# container without it (--cap-add NET_RAW) can't start tcpdump, and runs all else.
RUN apt-get update \
	&& apt-get install --yes --no-install-recommends ca-certificates libcap2-bin tcpdump \
	&& setcap cap_net_raw+ep "$(command -v tcpdump)" \
	&& apt-get purge --yes --auto-remove libcap2-bin \
	&& rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
	&& useradd --system --user-group --uid 999 --home-dir /data --shell /usr/sbin/nologin netlog \
	&& install --directory --owner netlog --group netlog --mode 0700 /data \
	&& install --directory --owner netlog --group netlog /captures

COPY bin/agentenv-netlog /usr/local/bin/

# Logs and the authority go to /data, captures to /captures. A volume that is mounted
# there for the first time is netlog's too.
USER netlog
WORKDIR /data
ENV HOME=/data

# For a container that captures, whose name is in AGENTENV_NETLOG_NAME and whose folder in
# TRAFFIC_CAPTURE_DIR. Another has a check of its own, or none (--no-healthcheck).
HEALTHCHECK --interval=2s --timeout=10s --start-period=10s --retries=3 CMD ["agentenv-netlog", "capture", "--check"]

ENTRYPOINT ["agentenv-netlog"]
CMD ["--help"]
