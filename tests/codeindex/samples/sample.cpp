#include <vector>
#include "local.hpp"
using std::vector;
using namespace std;

namespace outer::inner {
constexpr int LIMIT = 10;
class Shape : public Base {
public:
    explicit Shape(int width);
    virtual ~Shape() = default;
    virtual double area() const = 0;
    static int count;
    int width() const { return width_; }
    bool operator==(const Shape &other) const { return true; }
    enum class Mode { Fast, Slow };
    using Pointer = Shape *;
private:
    int width_ = 0, height_;
};
template <typename T>
struct Box { T value; void put(T v) { value = v; } };
template <typename T> T twice(T value) { return value + value; }
Shape::Shape(int width) : width_(width) {}
Shape::~Shape() {}
double Shape::area() const { int local = 1; return local; }
}
namespace { int hidden = 1; }
static void helper() {}
int free_function(int a);
int free_function(int a) { return a; }
auto lambda = [](int x) { return x; };
template <> struct Box<int> { int special; };
namespace alias = outer::inner;
enum Plain { A, B };
