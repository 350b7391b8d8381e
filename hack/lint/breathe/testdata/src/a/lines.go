package a

type pair struct{ a, b, c int }

func conditions(x, y, z bool) bool {
	_ = (x && y) || z
	_ = x && (y || z)
	_ = x || y || z
	_ = x && y && z
	_ = x || y && z  // want `&& within \|\| has parentheses`
	return x && y || // want `&& within \|\| has parentheses`
		y && z // want `&& within \|\| has parentheses`
}

func assignments(f func() (int, int, int)) {
	a, b := 1, 2
	c, d, e := f()
	a, b, c = b, c, a
	u := []int{a, b, c}
	u[0], u[1], u[2] = u[2], u[1], u[0]
	u[0], u[1], u[2] = a, b, c      // want `3 assignments in one`
	a, b, c = 1, 2, 3               // want `3 assignments in one`
	g, h, i := a, b, c              // want `3 assignments in one`
	if j, k, l := 1, 2, 3; j == k { // want `3 assignments in one`
		println(l)
	}
	println(a, b, c, d, e, g, h, i)
}

type rows []pair

func literals() {
	_ = pair{a: 1, b: 2}
	_ = pair{1, 2, 3}
	_ = pair{a: 1, b: 2, c: 3}  // want `a literal of 3 keyed fields has lines`
	_ = &pair{a: 1, b: 2, c: 3} // want `a literal of 3 keyed fields has lines`
	_ = pair{
		a: 1,
		b: 2,
		c: 3,
	}
	_ = []pair{{a: 1, b: 2, c: 3}}
	_ = []*pair{{a: 1, b: 2, c: 3}, &pair{a: 1, b: 2, c: 3}}
	_ = map[string]pair{"x": {a: 1, b: 2, c: 3}, "y": pair{a: 1, b: 2, c: 3}}
	_ = rows{{a: 1, b: 2, c: 3}, pair{a: 1, b: 2, c: 3}}
	_ = struct{ p, q pair }{p: pair{a: 1, b: 2, c: 3}} // want `a literal of 3 keyed fields has lines`
	_ = map[string]int{"a": 1, "b": 2, "c": 3}
	_ = []pair{{a: len(list(pair{a: 1, b: 2, c: 3}))}} // want `a literal of 3 keyed fields has lines`

	const x, y, z = 0, 1, 2
	_ = [...]int{x: 1, y: 2, z: 3}
}

func list(p pair) []pair { return rows{p} }
