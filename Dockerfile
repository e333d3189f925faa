# For instructors and authors: the whole course, with what locks learner code in.
#
#     docker build -t attention-course --build-arg TORCH_INDEX=… .
#
# TORCH_INDEX: the address that pytorch.org's "Get Started" shows behind --index-url for Pip and CPU.
# Without it the usual build of torch is taken, which is 5 GB larger.
FROM python:3.11-slim
ARG TORCH_INDEX=""
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap libseccomp2 make git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /course
# What grading needs, and no more: other users can read whatever is not closed below.
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
# Learner code may have to run as another user there (docs/explanation/isolation.md): what is private is root's.
# Grading looks through all other files for answers, and refuses if one is open.
RUN chmod -R go= graders solutions source course_config.py
# What this container gives; more with the options that it names.
CMD ["tensorgrade", "doctor"]
