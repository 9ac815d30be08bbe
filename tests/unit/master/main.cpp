#include <boost/test/unit_test.hpp>

// Spelled out, since a joined source has seen Boost.Test before any macro could ask for a main.
int main(int argc, char** argv) {
  return boost::unit_test::unit_test_main([] { return true; }, argc, argv);
}
