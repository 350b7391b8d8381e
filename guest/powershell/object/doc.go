// Package object has PowerShell's values and the classes of .NET that they are of: numbers, texts, dates, lists, hash
// tables, enumerations, errors and objects with properties. A value is shown as text, compared and converted here;
// package operator computes with them, and package dotnet has the classes that need more than a value. The package
// knows nothing of scripts.
package object
