"""Data sets whose samples a function makes."""


class Rows:
    def __init__(self, make, count=40):
        self.make, self.count = make, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return self.make(index)


def bad_at(bad, error=ValueError):
    def make(index):
        if index in bad:
            raise error(f"no sample {index}")
        return index

    return make
