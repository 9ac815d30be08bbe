#define BOOST_TEST_MODULE comm
#include <boost/test/unit_test.hpp>
