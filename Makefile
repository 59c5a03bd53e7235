PYTHON ?= .venv/bin/python
BIN := $(dir $(PYTHON))

.PHONY: proto
proto:  ## generate the Python modules of proto/*.proto
	$(PYTHON) -m grpc_tools.protoc -I. --python_out=. --grpc_python_out=. \
	  --plugin=protoc-gen-mypy=$(BIN)protoc-gen-mypy --mypy_out=quiet:. \
	  --plugin=protoc-gen-mypy_grpc=$(BIN)protoc-gen-mypy_grpc --mypy_grpc_out=quiet:. proto/*.proto
