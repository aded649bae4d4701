package world

import "github.com/yuin/gopher-lua/ast"

// numbered has the bounds of for loops take strings for numbers, as Lua 5.1, which Redis has, does. gopher-lua refuses them.
// Functions inside of a script are left as they are.
func numbered(chunk []ast.Stmt) {
	for _, s := range chunk {
		switch s := s.(type) {
		case *ast.DoBlockStmt:
			numbered(s.Stmts)
		case *ast.WhileStmt:
			numbered(s.Stmts)
		case *ast.RepeatStmt:
			numbered(s.Stmts)
		case *ast.IfStmt:
			numbered(s.Then)
			numbered(s.Else)
		case *ast.GenericForStmt:
			numbered(s.Stmts)
		case *ast.NumberForStmt:
			s.Init, s.Limit, s.Step = number(s.Init), number(s.Limit), number(s.Step)
			numbered(s.Stmts)
		}
	}
}

// number is an expression as a number; nil is none.
func number(e ast.Expr) ast.Expr {
	switch e.(type) {
	case nil, *ast.NumberExpr:
		return e
	}
	tonumber := &ast.IdentExpr{Value: "tonumber"}
	call := &ast.FuncCallExpr{Func: tonumber, Args: []ast.Expr{e}}
	tonumber.SetLine(e.Line())
	call.SetLine(e.Line())
	call.SetLastLine(e.LastLine())
	return call
}
