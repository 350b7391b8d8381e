package engine

import (
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// value returns the result of an expression.
func (f *frame) value(x lang.Expr) (object.Value, error) {
	if f.in.levels >= mostLevels {
		return nil, tooDeep()
	}
	f.in.levels++
	defer func() { f.in.levels-- }()
	return f.valueOf(x)
}

func (f *frame) valueOf(x lang.Expr) (object.Value, error) { //nolint:gocyclo // a row for each kind of expression
	switch x := x.(type) {
	case *lang.Binary:
		return f.binaryValue(x)
	case *lang.BlockLiteral:
		return f.blockLiteralValue(x)
	case *lang.Cast:
		return f.castValue(x)
	case *lang.HashLiteral:
		return f.hashValue(x)
	case *lang.Increment:
		return f.incrementValue(x)
	case *lang.Index:
		return f.indexValue(x)
	case *lang.LateExpr:
		return f.lateValue(x)
	case *lang.List:
		return f.listValue(x)
	case *lang.Literal:
		return f.literalValue(x)
	case *lang.Member:
		return f.memberValue(x)
	case *lang.Static:
		return f.staticValue(x)
	case *lang.StaticOf:
		return f.staticOfValue(x)
	case *lang.SubExpr:
		return f.subValue(x)
	case *lang.Template:
		return f.templateValue(x)
	case *lang.TypeOperand:
		return f.typeOperandValue(x)
	case *lang.TypeLiteral:
		return f.typeLiteralValue(x)
	case *lang.TypeTest:
		return f.typeTestValue(x)
	case *lang.Unary:
		return f.unaryValue(x)
	case *lang.Variable:
		return f.variableValue(x)
	}

	return nil, nil // an expression that is left out
}

// run runs a statement.
func (f *frame) run(s lang.Stmt, out *object.Sink) error {
	if err := f.in.step(); err != nil {
		return err
	}
	before := f.in.here()
	err := f.runOf(s, out)
	if err == nil { // where an error was made is asked later
		f.in.at(before)
	}

	return err
}

func (f *frame) runOf(s lang.Stmt, out *object.Sink) error { //nolint:gocyclo // a row for each kind of statement
	switch s := s.(type) {
	case *lang.Assign:
		return f.runAssign(s, out)
	case *lang.AssignSeveral:
		return f.runAssignSeveral(s, out)
	case *lang.AssignTo:
		return f.runAssignTo(s, out)
	case *lang.ClassStmt, *lang.EnumStmt:
		return nil // the block that has it has defined it
	case *lang.DoStmt:
		return f.runDo(s, out)
	case *lang.ForStmt:
		return f.runFor(s, out)
	case *lang.ForeachStmt:
		return f.runForeach(s, out)
	case *lang.FunctionStmt:
		return f.runFunction(s, out)
	case *lang.GivenStmt:
		return f.runGiven(s, out)
	case *lang.IfStmt:
		return f.runIf(s, out)
	case *lang.LateStmt:
		return f.runLateStatement(s, out)
	case *lang.LeaveStmt:
		return f.runLeave(s, out)
	case *lang.Pipeline:
		return f.runPipeline(s, out)
	case *lang.SwitchStmt:
		return f.runSwitch(s, out)
	case *lang.TrapStmt:
		return f.runTrap(s, out)
	case *lang.TryStmt:
		return f.runTry(s, out)
	case *lang.WhileStmt:
		return f.runWhile(s, out)
	}

	return nil
}
