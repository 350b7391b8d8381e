package library

import (
	"crypto/rand"
	"math"
	"math/big"

	"mullion.dev/mullion/guest/powershell/object"
)

// RandomClass returns the class System.Random.
func RandomClass() *object.Class {
	return &object.Class{
		Name: "System.Random",
		Make: &object.Method{Do: func(*object.Call) (object.Value, error) {
			return &object.Instance{Of: RandomClass()}, nil
		}},
		Methods: []object.Method{{
			Name: "Next",
			Most: 2,
			Do: func(c *object.Call) (object.Value, error) {
				from, to := int64(0), int64(math.MaxInt32)
				var err error
				switch len(c.Args) {
				case 1:
					to, err = c.Whole(0)
				case 2:
					if from, err = c.Whole(0); err == nil {
						to, err = c.Whole(1)
					}
				}

				if err != nil || to < from {
					return nil, object.Raise("System.ArgumentOutOfRangeException",
						"'minValue' cannot be greater than maxValue.\nParameter name: minValue")
				}

				return Between(from, to)
			},
		}},
	}
}

// Between returns a number by chance, from from to one below to.
func Between(from, to int64) (object.Value, error) {
	if to == from {
		return from, nil
	}
	n, err := rand.Int(rand.Reader, new(big.Int).Sub(big.NewInt(to), big.NewInt(from)))
	if err != nil {
		return nil, err
	}
	return from + n.Int64(), nil
}
