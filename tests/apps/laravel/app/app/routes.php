<?php

declare(strict_types=1);

use Illuminate\Http\Request;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Route;

$notes = static fn (): Notes => new Notes(base_path('data'));

Route::get('/', static function (Request $request) use ($notes) {
    $user = $request->session()->get('user');
    return Notes::page('Laravel', $user, $user === null ? [] : $notes()->all(), csrf_token());
});
Route::get('/login', static fn () => Notes::login(csrf_token()));
Route::post('/login', static function (Request $request) {
    if ($request->input('name') !== 'asha' || $request->input('password') !== 'howdah') {
        return response(Notes::login(csrf_token(), 'Wrong password'), 422);
    }
    $request->session()->migrate(true);
    $request->session()->put('user', 'asha');
    return redirect('/');
});
Route::post('/logout', static function (Request $request) {
    $request->session()->invalidate();
    return redirect('/');
});
Route::post('/notes', static function (Request $request) use ($notes) {
    $file = $request->file('file');
    $notes()->add($request->input('text'), $file === null ? null
        : static fn (string $path) => $file->move(dirname($path), basename($path)));
    return redirect('/');
});
Route::match(['GET', 'PUT'], '/json', static fn (Request $request) => response()->json([
    'method' => $request->method(),
    'path' => $request->getPathInfo(),
    'query' => $request->query(),
    'body' => json_decode($request->getContent(), true),
    'secure' => $request->secure(),
]));
Route::get('/hello/{name}', static fn (string $name) => view('hello', ['name' => $name]));
Route::get('/download/{id}', static fn (int $id) =>
    response()->download($notes()->file($id), 'note.png', ['Content-Type' => 'image/png']));
Route::get('/cookies', static fn () => response('two cookies')
    ->cookie('one', '1', 10)->cookie('two', 'a b', 0, '/', null, false, false, false, 'strict'));
Route::get('/stream', static fn () => response()->stream(static function (): void {
    foreach ([1, 2, 3] as $part) {
        echo "part $part\n";
        flush();
    }
}, 200, ['Content-Type' => 'text/plain', 'X-Accel-Buffering' => 'no']));
Route::get('/throw', static fn () => throw new RuntimeException('thrown on purpose'));

// Ways in which requests of a worker end, and the state that they leave.
Route::get('/who', static fn (Request $request) => $request->session()->get('user', 'nobody'));
Route::get('/become/{name}', static function (Request $request, string $name) {
    $request->session()->put('user', $name);
    return $name;
});
Route::get('/exit', static function (): void {
    echo 'exited';
    exit;
});
Route::get('/pid', static fn () => (string) getmypid());
Route::get('/settings', static function (): array {
    $seen = [ini_get('precision'), date_default_timezone_get(), config('app.locale'), app()->getLocale()];
    ini_set('precision', '3');
    date_default_timezone_set('Asia/Kolkata');
    config(['app.locale' => 'fr']);
    app()->setLocale('fr');
    return $seen;
});
Route::get('/table', static function (): string {
    DB::statement('CREATE TABLE rows (name TEXT)');
    return 'made';
});
Route::get('/rows', static fn () => (string) DB::table('rows')->count());
Route::get('/leave', static function (): string {
    DB::beginTransaction();
    DB::table('rows')->insert(['name' => 'left']);
    return 'left';
});
Route::get('/later', static function (Request $request): string {
    $gate = $request->query('gate');
    app()->terminating(static function () use ($gate): void {
        file_put_contents("$gate.reached", 'x');
        fgetc(fopen("$gate.open", 'r'));
    });
    return 'sent';
});
