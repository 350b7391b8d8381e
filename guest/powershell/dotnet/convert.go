package dotnet

import (
	"encoding/base64"
	"strconv"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

// convertClass returns the class System.Convert.
func convertClass() *object.Class {
	to := func(name, to string) object.Method {
		return object.Method{
			Name:  name,
			Least: 1,
			Most:  1,
			Do: func(c *object.Call) (object.Value, error) {
				v, err := Converted(to, c.Arg(0))
				if err != nil {
					return nil, object.BadFormat()
				}
				return v, nil
			},
		}
	}

	return &object.Class{
		Name: "System.Convert",
		Calls: []object.Method{
			{
				Name:  "ToBase64String",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					data, err := object.BytesOf(c.Arg(0))
					return base64.StdEncoding.EncodeToString(data), err
				},
			},
			{
				Name:  "FromBase64String",
				Least: 1,
				Most:  1,
				Do: func(c *object.Call) (object.Value, error) {
					data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(c.Text(0)), ""))
					if err != nil {
						return nil, object.Raise("System.FormatException",
							"The input is not a valid Base-64 string as it contains a "+
								"non-base 64 character, more than two padding characters, or an illegal character among the "+
								"padding characters. ")
					}
					return object.ByteList(data), nil
				},
			},
			to("ToInt64", "long"), to("ToUInt32", "uint32"), to("ToUInt16", "uint16"), to("ToInt16", "int16"),
			to("ToByte", "byte"), to("ToUInt64", "uint64"), to("ToDecimal", "decimal"), to("ToSingle", "single"), to("ToChar", "char"),
			to("ToDateTime", "datetime"), to("ToDouble", "double"), to("ToBoolean", "bool"),
			{Name: "ToInt32", Least: 1, Most: 2, Do: toInteger},
			{Name: "ToString", Least: 1, Most: 2, Do: object.ToText},
		},
	}
}

// toInteger carries out Convert.ToInt32.
func toInteger(c *object.Call) (object.Value, error) {
	if len(c.Args) == 1 {
		v, err := Converted("int", c.Arg(0))
		if err != nil {
			return nil, object.BadFormat()
		}
		return v, nil
	}

	base, err := c.Base()
	if err != nil {
		return nil, err
	}

	digits := c.Text(0)
	if base == 16 {
		digits = strings.TrimPrefix(strings.ToLower(digits), "0x")
	}

	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return nil, object.Raise("System.FormatException", "Could not find any recognizable digits.")
	}

	return int64(int32(uint32(n))), nil // so it is meant
}
