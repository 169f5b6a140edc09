"""Serve one GGUF model over the OpenAI API with llama.cpp's own server.

The server runs inside this process (xllamacpp) until it gets SIGTERM.
"""

import argparse
import signal
import threading

import xllamacpp


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--model", required=True, help="GGUF file")
    flags.add_argument("--alias", required=True, help="name of the model in the API")
    flags.add_argument("--port", type=int, required=True)
    flags.add_argument("--context", type=int, required=True, help="tokens of context for each request")
    flags.add_argument("--parallel", type=int, default=2, help="requests at a time")
    flags.add_argument("--threads", type=int, default=0, help="0: as llama.cpp chooses")
    flags.add_argument("--embedding", action="store_true", help="serve embeddings instead of chat")
    args = flags.parse_args()

    params = xllamacpp.CommonParams()
    params.model.path = args.model
    params.model_alias = {args.alias}
    params.hostnames = ["127.0.0.1"]
    params.port = args.port
    params.n_parallel = args.parallel
    params.n_ctx = args.context * args.parallel
    params.offline = True
    params.ui = False
    if args.threads > 0:
        params.cpuparams.n_threads = args.threads
        params.cpuparams_batch.n_threads = args.threads
    if args.embedding:
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        # A text is pooled over all its tokens, so it must fit in one batch.
        params.n_batch = params.n_ctx
        params.n_ubatch = params.n_ctx
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    server = xllamacpp.Server(params)
    print("serving", server.listening_address, flush=True)
    while not ended.wait(60):
        pass


if __name__ == "__main__":
    main()
