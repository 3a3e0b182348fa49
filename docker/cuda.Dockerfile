# Onrush and JupyterLab on an NVIDIA GPU, from the wheels in dist/: docs/images.md. The driver is the host's: the NVIDIA
# Container Toolkit mounts it (`docker run --gpus all`).
ARG BASE=nvidia/cuda:13.0.1-base-ubuntu22.04
FROM ${BASE}

# The versions are those of the distribution's release.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv \
    && rm -rf /var/lib/apt/lists/*

# The environment is root's: a cell cannot change it. NVRTC, which compiles CUDA kernels, comes from pip.
ENV VIRTUAL_ENV=/opt/onrush \
    PATH=/opt/onrush/bin:$PATH
RUN --mount=type=bind,source=dist,target=/dist \
    python3 -m venv /opt/onrush \
    && pip install --no-cache-dir --disable-pip-version-check \
        /dist/*.whl anywidget==0.11.0 ipywidgets==8.1.9 jupyterlab==4.6.6 nvidia-cuda-nvrtc==13.0.88

# Cells are code of the person at the browser, and run as this user.
RUN useradd --create-home --shell /bin/bash --uid 1000 jovyan
COPY --chown=jovyan:jovyan notebooks /home/jovyan/notebooks
USER 1000
WORKDIR /home/jovyan/notebooks

# The image is refused if something that cells need is missing. A build has no GPU.
RUN onrush doctor

EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser"]
