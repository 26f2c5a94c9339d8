<?php

declare(strict_types=1);

use function Caravan\e;

/**
 * One labelled field of a form, with its error.
 *
 * @var array<string, string> $form
 * @var array<string, string> $problems
 * @var string $name
 * @var string $label
 * @var int $max
 * @var int $rows
 */

$problem = $problems[$name] ?? null;
$attributes = sprintf('id="%1$s" name="%1$s" maxlength="%2$d" required', e($name), $max)
    . ($problem === null ? '' : sprintf(' aria-invalid="true" aria-describedby="%s-problem"', e($name)));
?>
<div class="field">
<label for="<?= e($name) ?>"><?= e($label) ?></label>
<?php if ($rows > 1) : ?>
<textarea <?= $attributes ?> rows="<?= $rows ?>"><?= e($form[$name] ?? '') ?></textarea>
<?php else : ?>
<input type="text" <?= $attributes ?> value="<?= e($form[$name] ?? '') ?>">
<?php endif ?>
<?php if ($problem !== null) : ?>
<p class="problem" id="<?= e($name) ?>-problem"><?= e($problem) ?></p>
<?php endif ?>
</div>
