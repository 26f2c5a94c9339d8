/*
 * See preload_classify.h.
 *
 * Rules: leaves nothing behind, not even an exception; reads the file from disk.
 */
#include "preload_classify.h"

#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat.h"
#include "howdah_shm.h"

#include <zend_compile.h>
#include <zend_exceptions.h>

/* No source file is larger; a larger file is data. */
#define SOURCE_MAX (16u << 20)

struct classifier {
	howdah_declaration_callback *classes, *functions;
	void *context;
	zend_string *space; /* the namespace; NULL: none */
	uint32_t verdict;   /* the first reason not to preload the file */
	bool declares;
};

static void refuse(struct classifier *reading, uint32_t verdict)
{
	if (!reading->verdict) {
		reading->verdict = verdict;
	}
}

static void declared(struct classifier *reading, howdah_declaration_callback *tell, const zend_ast *statement)
{
	const zend_string *name = ((const zend_ast_decl *)statement)->name;
	zend_string *full = reading->space ? zend_string_concat3(ZSTR_VAL(reading->space), ZSTR_LEN(reading->space), "\\",
											 1, ZSTR_VAL(name), ZSTR_LEN(name))
									   : zend_string_init(ZSTR_VAL(name), ZSTR_LEN(name), false);
	zend_str_tolower(ZSTR_VAL(full), ZSTR_LEN(full));
	tell(reading->context, ZSTR_VAL(full), ZSTR_LEN(full));
	zend_string_release(full);
}

/* Whether a statement contains a declaration without being one. */
static bool has_declaration(const zend_ast *ast)
{
	if (!ast || ast->kind == ZEND_AST_ZVAL || ast->kind == ZEND_AST_CONSTANT || ast->kind == ZEND_AST_ZNODE) {
		return false;
	}
	if (ast->kind == ZEND_AST_FUNC_DECL) {
		return true;
	}
	if (ast->kind == ZEND_AST_CLASS) {
		return !(((const zend_ast_decl *)ast)->flags & ZEND_ACC_ANON_CLASS);
	}
	if (zend_ast_is_special((zend_ast *)ast)) {
		return false; /* a closure: its contents are declared when it is called */
	}
	bool is_list = zend_ast_is_list((zend_ast *)ast);
	uint32_t count = is_list ? ((const zend_ast_list *)ast)->children : zend_ast_get_num_children((zend_ast *)ast);
	zend_ast *const *child = is_list ? ((const zend_ast_list *)ast)->child : ast->child;
	for (uint32_t i = 0; i < count; i++) {
		if (has_declaration(child[i])) {
			return true;
		}
	}
	return false;
}

/* declare(strict_types=1); others have side effects. */
static bool is_harmless_declare(const zend_ast *statement)
{
	const zend_ast_list *list = zend_ast_get_list(statement->child[0]);
	for (uint32_t i = 0; i < list->children; i++) {
		if (!zend_string_equals_literal_ci(zend_ast_get_str(list->child[i]->child[0]), "strict_types")) {
			return false;
		}
	}
	return !statement->child[1];
}

static bool is_literal(const zend_ast *ast)
{
	return ast->kind == ZEND_AST_ZVAL || ast->kind == ZEND_AST_CONST ||
		   (ast->kind == ZEND_AST_CLASS_NAME && ast->child[0] && ast->child[0]->kind == ZEND_AST_ZVAL);
}

/*
 * class_exists(Other::class); at the end of Symfony's files makes preload scripts find the classes that they need. In a
 * request it only loads a class early, which is loaded at its first use otherwise.
 */
static bool is_discovery(const zend_ast *statement)
{
	static const char *const functions[] = {"class_exists", "interface_exists", "trait_exists", "enum_exists"};
	if (statement->kind != ZEND_AST_CALL || statement->child[0]->kind != ZEND_AST_ZVAL ||
		statement->child[1]->kind != ZEND_AST_ARG_LIST) {
		return false;
	}
	const zend_string *name = zend_ast_get_str(statement->child[0]);
	const zend_ast_list *arguments = zend_ast_get_list(statement->child[1]);
	for (uint32_t i = 0; i < arguments->children; i++) {
		if (!is_literal(arguments->child[i])) {
			return false;
		}
	}
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (strcasecmp(ZSTR_VAL(name), functions[i]) == 0) {
			return true;
		}
	}
	return false;
}

static void read_statements(struct classifier *reading, const zend_ast *list);

static void enter_namespace(struct classifier *reading, const zend_ast *statement)
{
	reading->space = statement->child[0] ? zend_ast_get_str(statement->child[0]) : NULL;
	if (statement->child[1]) {
		read_statements(reading, statement->child[1]);
		reading->space = NULL;
	}
}

static void read_statement(struct classifier *reading, const zend_ast *statement)
{
	switch (statement->kind) {
		case ZEND_AST_STMT_LIST:
			read_statements(reading, statement);
			return;
		case ZEND_AST_NAMESPACE:
			enter_namespace(reading, statement);
			return;
		case ZEND_AST_USE:
		case ZEND_AST_GROUP_USE:
			return;
		case ZEND_AST_DECLARE:
			if (!is_harmless_declare(statement)) {
				refuse(reading, HOWDAH_VERDICT_CODE);
			}
			return;
		case ZEND_AST_CLASS:
			reading->declares = true;
			declared(reading, reading->classes, statement);
			return;
		case ZEND_AST_FUNC_DECL:
			refuse(reading, HOWDAH_VERDICT_FUNCTION);
			declared(reading, reading->functions, statement);
			return;
		case ZEND_AST_CONST_DECL:
		case ZEND_AST_HALT_COMPILER: /* it declares __COMPILER_HALT_OFFSET__ */
			refuse(reading, HOWDAH_VERDICT_CONSTANT);
			return;
		case ZEND_AST_CALL:
			if (!is_discovery(statement)) {
				refuse(reading, HOWDAH_VERDICT_CODE);
			}
			return;
		default:
			refuse(reading, has_declaration(statement) ? HOWDAH_VERDICT_CONDITION : HOWDAH_VERDICT_CODE);
	}
}

static void read_statements(struct classifier *reading, const zend_ast *list)
{
	const zend_ast_list *statements = zend_ast_get_list((zend_ast *)list);
	for (uint32_t i = 0; i < statements->children; i++) {
		if (statements->child[i]) {
			read_statement(reading, statements->child[i]);
		}
	}
}

/* Returns NULL if it cannot be read. */
static zend_string *read_file(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	zend_string *text = NULL;
	if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= SOURCE_MAX) {
		size_t size = (size_t)status.st_size, done = 0;
		text = zend_string_alloc(size, false);
		while (done < size) {
			ssize_t got = read(file, ZSTR_VAL(text) + done, size - done);
			if (got <= 0 && !(got < 0 && errno == EINTR)) {
				break;
			}
			done += got > 0 ? (size_t)got : 0;
		}
		ZSTR_VAL(text)[done] = '\0';
		ZSTR_LEN(text) = done;
	}
	if (file >= 0) {
		close(file);
	}
	return text;
}

uint32_t howdah_preload_classify(
	const char *path, howdah_declaration_callback *classes, howdah_declaration_callback *functions, void *context)
{
	zend_string *text = read_file(path);
	if (!text) {
		return HOWDAH_VERDICT_MISSING;
	}
	zend_string *name = zend_string_init(path, strlen(path), false);
	zend_arena *arena = NULL;
	zend_ast *ast = zend_compile_string_to_ast(text, &arena, name);
	struct classifier reading = {.classes = classes, .functions = functions, .context = context};
	if (ast) {
		read_statements(&reading, ast);
		zend_ast_destroy(ast);
		zend_arena_destroy(arena);
		if (!reading.declares) {
			refuse(&reading, HOWDAH_VERDICT_NO_CLASS);
		}
	} else {
		zend_clear_exception();
		reading.verdict = HOWDAH_VERDICT_SYNTAX;
	}
	zend_string_release(name);
	zend_string_release(text);
	return reading.verdict;
}
