[int
