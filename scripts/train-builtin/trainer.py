"""The decoder in training on PyTorch: the same arithmetic as decoder.ts and optimizer.ts, several times as fast on a CPU.

A child of torch-trainer.ts, which tells it what to do: on standard input one JSON line a command, followed by as many
bytes as it says; on standard output one JSON line an answer, followed by its bytes. It knows no text, schedule or file.
"""
import json
import math
import sys

import torch
import torch.nn.functional as F

MOMENTUM = 0.95
QUINTIC = (3.4445, -4.775, 2.0315)
ROUNDS = 5
TINY = 1e-20
BETA1, BETA2, ADAM_EPSILON = 0.9, 0.95, 1e-8
NORM_EPSILON = 1e-5
ROPE_BASE = 10_000.0

commands, answers = sys.stdin.buffer, sys.stdout.buffer


def receive():
    line = commands.readline()
    if not line:
        return None, b""
    command = json.loads(line)
    return command, commands.read(command["bytes"])


def send(answer, data=b""):
    answers.write(json.dumps({**answer, "bytes": len(data)}).encode() + b"\n" + data)
    answers.flush()


def floats(data):
    return torch.frombuffer(bytearray(data), dtype=torch.float32)


class Decoder:
    def __init__(self, setup):
        torch.set_num_threads(setup["threads"])
        self.layers, self.heads, self.vocabulary = setup["layers"], setup["heads"], setup["vocabulary"]
        self.sequences, self.length = setup["sequences"], setup["length"]
        self.kinds = {spec["name"]: spec["kind"] for spec in setup["weights"]}
        self.weights = {}
        self.state = {}
        for spec in setup["weights"]:
            # The innermost dimension last.
            shape = list(reversed(spec["dims"]))
            self.weights[spec["name"]] = torch.zeros(shape, requires_grad=True)
            self.state[spec["name"]] = [torch.zeros(shape) for _ in range(1 if spec["kind"] == "matrix" else 2)]
        half = setup["hidden"] // self.heads // 2
        angles = torch.outer(torch.arange(self.length), ROPE_BASE ** (-torch.arange(half) / half))
        self.turns = torch.polar(torch.ones_like(angles), angles)
        self.mask = torch.full((self.length, self.length), -math.inf).triu(1)

    def norm(self, x, name):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + NORM_EPSILON) * self.weights[name + ".weight"]

    def linear(self, x, name):
        return F.linear(x, self.weights[name + ".weight"])

    def by_head(self, x):
        return x.view(self.sequences, self.length, self.heads, -1).transpose(1, 2)

    def turned(self, x):
        pairs = torch.view_as_complex(x.contiguous().view(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turns).flatten(-2)

    def loss(self, tokens, targets):
        """Sum of the cross entropies over all places, divided by their number; a target outside the vocabulary adds 0."""
        table = self.weights["token_embd.weight"]
        x = F.embedding(tokens, table)
        for layer in range(self.layers):
            at = f"blk.{layer}."
            h = self.norm(x, at + "attn_norm")
            q = self.turned(self.by_head(self.linear(h, at + "attn_q")))
            k = self.turned(self.by_head(self.linear(h, at + "attn_k")))
            v = self.by_head(self.linear(h, at + "attn_v"))
            scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-1, -2)) + self.mask
            mixed = torch.matmul(scores.softmax(-1), v).transpose(1, 2).reshape(x.shape)
            x = x + self.linear(mixed, at + "attn_output")
            h = self.norm(x, at + "ffn_norm")
            x = x + self.linear(F.silu(self.linear(h, at + "ffn_gate")) * self.linear(h, at + "ffn_up"), at + "ffn_down")
        logits = F.linear(self.norm(x, "output_norm"), table)
        return F.cross_entropy(logits, targets, ignore_index=self.vocabulary, reduction="sum") / targets.numel()

    def batch(self, data):
        both = torch.frombuffer(bytearray(data), dtype=torch.int32).long()
        return both.chunk(2)

    def step(self, data, rates):
        loss = self.loss(*self.batch(data))
        loss.backward()
        with torch.no_grad():
            for name, weight in self.weights.items():
                move = self.muon if self.kinds[name] == "matrix" else self.adamw
                move(weight, weight.grad, self.state[name], rates, self.kinds[name])
                weight.grad = None
        return loss.item()

    def muon(self, weight, gradient, state, rates, _kind):
        momentum = state[0].mul_(MOMENTUM).add_(gradient)
        ahead = gradient + MOMENTUM * momentum
        outer, inner = weight.shape
        x = ahead if inner >= outer else ahead.t()
        x = x / (x.square().mean() + TINY).sqrt() / math.sqrt(inner * outer)
        for _ in range(ROUNDS):
            square = x @ x.t()
            x = QUINTIC[0] * x + (QUINTIC[1] * square + QUINTIC[2] * square @ square) @ x
        direction = x if inner >= outer else x.t()
        weight.mul_(1 - rates["matrix"] * rates["decay"])
        weight.sub_(direction, alpha=rates["matrix"] * math.sqrt(max(1, outer / inner)))

    def adamw(self, weight, gradient, state, rates, kind):
        first, second = state
        first.mul_(BETA1).add_(gradient, alpha=1 - BETA1)
        second.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        size = (second / (1 - BETA2 ** rates["step"])).sqrt_().add_(ADAM_EPSILON)
        weight.mul_(1 - rates["other"] * (rates["decay"] if kind == "table" else 0))
        weight.addcdiv_(first, size, value=-rates["other"] / (1 - BETA1 ** rates["step"]))


def main():
    setup, _ = receive()
    decoder = Decoder(setup)
    send({"version": torch.__version__})
    while True:
        command, data = receive()
        if command is None:
            return
        what = command["do"]
        if what == "step":
            send({"loss": decoder.step(data, command)})
        elif what == "measure":
            with torch.no_grad():
                send({"loss": decoder.loss(*decoder.batch(data)).item()})
        elif what == "read":
            tensors = [decoder.weights[command["name"]].detach(), *decoder.state[command["name"]]]
            send({}, b"".join(tensor.contiguous().numpy().tobytes() for tensor in tensors))
        elif what == "write":
            tensors = [decoder.weights[command["name"]].detach(), *decoder.state[command["name"]]]
            values = floats(data).chunk(len(tensors))
            for tensor, part in zip(tensors, values):
                tensor.copy_(part.view_as(tensor))
            send({})


main()
