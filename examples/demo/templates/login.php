<?php

declare(strict_types=1);

use Caravan\Model\Seed;

use function Caravan\e;

/**
 * @var string $name
 * @var string|null $problem
 * @var string $csrf
 */
?>
<div class="narrow">
<h1>Climb up</h1>
<p class="lead">This is a demo, so here is the key: name <code><?= e(Seed::NAME) ?></code>, password
<code><?= e(Seed::PASSWORD) ?></code>.</p>
<form class="panel" method="post" action="/login">
<input type="hidden" name="csrf" value="<?= e($csrf) ?>">
<?php if ($problem !== null) : ?>
<p class="problem" role="alert" id="login-problem"><?= e($problem) ?></p>
<?php endif ?>
<div class="field">
<label for="name">Name</label>
<input type="text" id="name" name="name" value="<?= e($name) ?>" autocomplete="username" autocapitalize="none" required>
</div>
<div class="field">
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password" required>
</div>
<button class="button" type="submit">Log in</button>
</form>
</div>
