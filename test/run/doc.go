// Package run tests `mullion run`: single Windows containers, by the program that a person types.
package run
