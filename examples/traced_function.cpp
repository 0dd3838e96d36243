// Uses one C++ function of Values as a graph that is printed and compiled, runs it eagerly with the same bits, and
// differentiates it.
#include <cstdio>
#include <cstring>
#include <iostream>

#include "ridgeline/compile/run/eager.h"
#include "ridgeline/graph/ir/forms.h"
#include "ridgeline/graph/ir/text.h"
#include "ridgeline/nn/eager_gradients.h"

using namespace ridgeline;

namespace {

Value func(Value x, Value y) { return x / y; }

Value test_f(Value x, Value y) {
  Value a = x - 1;
  Value b = a + y;
  return b * call("func", func, a, b);
}

void print(const char* what, const Tensor& t) {
  std::printf("%s:", what);
  for (std::int64_t i = 0; i < t.elements(); ++i) std::printf(" %g", t.at(i));
  std::printf("\n");
}

}  // namespace

int main() {
  const Tensor x = Tensor::of<float>({2, 3, 4, 5, 6, 7}, {2, 3}), y = Tensor::of<float>({1, 1, 2, 2, 3, 3}, {2, 3});
  const Graph graph = trace("test_f", {f32({2, 3}), f32({2, 3})}, test_f);
  std::cout << graph << "\n"                  // can be parsed again
            << to_let_text(graph) << "\n"     // functional notation
            << to_entry_text(graph) << "\n";  // with source lines of this file

  Session session;
  const auto program = compile(graph, session, {.fusion = false});
  program->bind("x0", x);
  program->bind("x1", y);
  program->run();
  const Tensor compiled = program->output("result");
  print("compiled", compiled);

  Eager eager(session);
  const Tensor eagerly = eager.run(test_f, x, y);
  const bool same = std::memcmp(compiled.raw(), eagerly.raw(), compiled.byte_size()) == 0;
  std::printf("eager: %s bits, %zu programs of one op\n", same ? "the same" : "other", eager.programs());

  eager.forget();
  const Value vx = eager.input(x), vy = eager.input(y);
  const Value result = test_f(vx, vy);
  const Value loss = eager.builder().apply("reduce_sum", {result * result});
  const std::vector<Value> wanted{vx, vy};
  const std::vector<Tensor> gradients = nn::eager_gradients(eager, loss, wanted);
  print("d loss / d x", gradients[0]);
  print("d loss / d y", gradients[1]);
  return same ? 0 : 1;
}
