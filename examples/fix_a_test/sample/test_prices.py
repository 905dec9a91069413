import unittest

from prices import total


class TotalTest(unittest.TestCase):
    def test_one_of_each(self) -> None:
        self.assertEqual(total({"apple": 1, "bread": 1}), 360)

    def test_several_of_one(self) -> None:
        self.assertEqual(total({"apple": 3}), 120)


if __name__ == "__main__":
    unittest.main()
