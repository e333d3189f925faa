# For instructors and authors: the whole course. It runs in an ordinary container.
#
#     docker build -t attention-course --build-arg TORCH_INDEX=… .
#
# TORCH_INDEX: the address that pytorch.org's "Get Started" shows behind --index-url for Pip and CPU.
# Without it the usual build of torch is taken, which is 5 GB larger.
FROM python:3.11-slim
ARG TORCH_INDEX=""
RUN apt-get update && apt-get install -y --no-install-recommends make git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /course
# Only what grading needs: other users can read everything that is not closed below.
COPY tensorgrade tensorgrade
COPY exercises exercises
COPY release release
COPY kit kit
COPY graders graders
COPY solutions solutions
COPY source source
COPY course_config.py nbgrader_config.py pyproject.toml requirements.lock README.md LICENSE ./
RUN pip install --no-cache-dir ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} -r requirements.lock
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e .
# References are not tracked; those that the context has are not built again.
RUN tensorgrade build
# On a kernel without Landlock, learner code runs as `nobody` (docs/explanation/sandbox.md). So only root may
# read the answers.
RUN chmod -R go= graders solutions source course_config.py
# Try if the sandbox holds here.
CMD ["tensorgrade", "doctor"]
